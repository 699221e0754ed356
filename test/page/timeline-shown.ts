// Reads a machine's timeline as the page shows it: the lines of its table, and the times of the drawn bands.
import type { Page } from "playwright-core";

export interface TimelineLine {
  /** The start in milliseconds since 1970. */
  fromMs: number;
  /** The end. null if the line has no duration; undefined if it still lasts. */
  toMs: number | null | undefined;
  /** The described state or event, such as `MemoryPressure: True` or `reboot`. */
  what: string;
  text: string;
}

/** Reads the timeline's table, which has to be open. The browser's time zone has to be UTC. */
export async function linesOf(page: Page): Promise<TimelineLine[]> {
  const rows = await page.evaluate<string[][]>(
    `[...document.querySelectorAll('[aria-label="Bands and marks"] tbody tr')].map(({ cells }) => [...cells].map(({ textContent }) => textContent))`,
  );
  return rows.map(([from = "", to = "", what = "", text = ""]) => ({
    fromMs: momentOf(from),
    toMs: to === "–" ? null : to === "still so" ? undefined : momentOf(to),
    what,
    text,
  }));
}

/** Parses a time, `2026-11-22 14:03:09` or `2026-11-22 14:03:09 (28m)`, to milliseconds since 1970. */
const momentOf = (text: string): number => Date.parse(`${text.slice(0, 10)}T${text.slice(11, 19)}Z`);

export interface ShownBand {
  /** The look of the band: `good`, `bad`, `silent`, … */
  look: string;
  fromMs: number;
  toMs: number;
}

/**
 * Reads the bands of the timeline's row with this name (`State`), in order. The last argument is the period that the
 * row shows.
 */
export async function bandsOf(
  page: Page,
  name: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<ShownBand[]> {
  const drawn = await page.evaluate<{ look: string; x: number; width: number; of: number }[]>(
    `[...document.querySelectorAll(".timeline-row")]
      .filter((row) => row.querySelector(".timeline-name")?.textContent === ${JSON.stringify(name)})
      .flatMap((row) => [...row.querySelectorAll("rect.band")].map((band) => ({
        look: /look-([\\w-]+)/.exec(band.getAttribute("class"))[1],
        x: band.x.baseVal.value,
        width: band.width.baseVal.value,
        of: band.ownerSVGElement.width.baseVal.value,
      })))`,
  );
  const timeAt = (x: number, of: number) => fromMs + (x / of) * (toMs - fromMs);
  return drawn.map(({ look, x, width, of }) => ({
    look,
    fromMs: timeAt(x, of),
    toMs: timeAt(x + width, of),
  }));
}

/**
 * Returns the looks of the bands in the middle half of a period, without the bands at the period's ends. Both times are
 * milliseconds since 1970.
 */
export function during(bands: readonly ShownBand[], fromMs: number, toMs: number): string[] {
  const quarter = (toMs - fromMs) / 4;
  return bands
    .filter((band) => band.fromMs < fromMs + 3 * quarter && band.toMs > fromMs + quarter)
    .map(({ look }) => look);
}
