// Reads the looks of a page for its tests, as the browser has computed them.
import type { Page } from "playwright-core";
import { DESKTOP, type OpenPage, PHONE, WIDE } from "./chromium.ts";

/** The looks of a page: the theme, and whether the page is stale. */
type Look = readonly [colorScheme: "light" | "dark", isStale: boolean];
/** The looks of each width. Each width has what is shown there; the colours are those of all widths. */
const LOOKS: readonly (readonly [viewport: typeof DESKTOP, looks: readonly Look[]])[] = [
  [
    DESKTOP,
    [
      ["light", false],
      ["light", true],
      ["dark", false],
      ["dark", true],
    ],
  ],
  [WIDE, [["light", false]]],
  [
    PHONE,
    [
      ["light", false],
      ["dark", true],
    ],
  ],
];

/**
 * Lists the faults in the looks of the shown view, one in each line: axe's findings at three widths, in either theme,
 * live and stale, elements wider than the window, and moving elements.
 */
export async function faultsOfLooks({ page, accessibilityFaults }: OpenPage): Promise<string[]> {
  const faults = await moving(page);
  for (const [viewport, looks] of LOOKS) {
    await page.setViewportSize(viewport);
    const found = await tooWide(page);
    for (const [colorScheme, isStale] of looks) {
      await page.emulateMedia({ colorScheme });
      const before = isStale ? await setConnection(page, "stale") : null;
      // The dark theme and a stale page differ only in colours, so axe checks only contrast there.
      const rule = colorScheme === "dark" || isStale ? "color-contrast" : undefined;
      for (const fault of await accessibilityFaults(rule))
        found.push(`${colorScheme}${isStale ? " and stale" : ""}, ${fault}`);
      if (before !== null) await setConnection(page, before);
    }
    for (const fault of found) faults.push(`${viewport.width} px: ${fault}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(DESKTOP);
  return faults;
}

/** Gives the page the looks of another state of its connection; returns the state before. The sign-in has none. */
function setConnection(page: Page, connection: string): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { dataset } = document.querySelector(".frame") ?? document.body;
    const before = dataset.connection ?? "";
    dataset.connection = ${JSON.stringify(connection)};
    return before;
  })()`);
}

/** Returns the computed value of a property of the first element that matches, such as `grayscale(1)`. */
export function styleOf(page: Page, selector: string, property: string): Promise<string> {
  return page.evaluate<string>(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).getPropertyValue(${JSON.stringify(property)})`,
  );
}

/** Returns a line like `412 px of 360` if the page scrolls sideways, once it has been laid out for the window. */
export function tooWide(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`new Promise((laidOut) => requestAnimationFrame(() => setTimeout(() => {
    const { scrollWidth } = document.documentElement;
    laidOut(scrollWidth > innerWidth ? [scrollWidth + " px of " + innerWidth] : []);
  })))`);
}

/**
 * Lists the elements with an animation or a transition: `button.primary transition 0.2s`. Animations that follow
 * scrolling are left out.
 */
export function moving(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll("*")].flatMap((element) => {
    const { transitionDuration, animationName, animationDuration, animationTimeline, scrollBehavior } = getComputedStyle(element);
    const name = element.localName + "." + element.getAttribute("class");
    return [
      ...(/[1-9]/.test(transitionDuration) ? [name + " transition " + transitionDuration] : []),
      ...(animationName === "none" || animationTimeline !== "auto" ? [] : [name + " animation " + animationName + " " + animationDuration]),
      ...(scrollBehavior === "smooth" ? [name + " scrolls smoothly"] : []),
    ];
  })`);
}

/** Returns the texts of a column of the fleet's table, for the drawn rows. */
export function columnOf(page: Page, column: string): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll("tbody .fleet-cell-${column}")].map(({ textContent }) => textContent.trim())`,
  );
}

/**
 * Returns the focused element: its role or tag, and its name, such as `button Act on it …`. "" if no element has
 * the focus.
 */
export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { activeElement: at } = document;
    if (!at || at === document.body) return "";
    const name = at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent;
    return (at.getAttribute("role") ?? at.localName) + " " + name.trim().replace(/\\s+/g, " ");
  })()`);
}
