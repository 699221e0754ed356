// The page's colours for a canvas, which knows no CSS: read where they are drawn, and again when the theme changes.
import { useSignalEffect } from "@preact/signals";
import { type RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { usePage } from "../page.ts";

const TOKENS = {
  text: "--text",
  quiet: "--quiet",
  grid: "--line",
  line: "--accent",
  hard: "--bad",
  soft: "--warn",
  silent: "--dark",
  silentGround: "--dark-ground",
  dot: "--line-strong",
  ground: "--raised",
} as const;

export type LineInk = Record<keyof typeof TOKENS, string> & {
  font: string;
  /** Below the line. */
  fill: string;
};

/** null: not read yet. `element`: any that has the page's colours; it is used to compute them. */
export function useInk(element: RefObject<HTMLElement | null>): LineInk | null {
  const { preferences } = usePage();
  const [ink, setInk] = useState<LineInk | null>(null);
  const read = () => {
    if (element.current) setInk(inkOf(element.current));
  };
  useLayoutEffect(() => {
    read();
    // On paper there is another theme, and the system may change its own.
    const media = [matchMedia("print"), matchMedia("(prefers-color-scheme: dark)")];
    for (const each of media) each.addEventListener("change", read);
    return () => {
      for (const each of media) each.removeEventListener("change", read);
    };
  }, []);
  useSignalEffect(() => {
    void preferences.theme.value;
    // The frame sets the theme by an effect of its own, which may come after this one.
    queueMicrotask(read);
  });
  return ink;
}

/** light-dark() is computed by the browser where it is a colour, and not where it is a token. */
function inkOf(element: HTMLElement): LineInk {
  const probe = document.createElement("span");
  element.append(probe);
  const computed = getComputedStyle(probe);
  const colours = Object.entries(TOKENS).map(([name, token]) => {
    probe.style.color = `var(${token})`;
    return [name, computed.color];
  });
  const font = computed.fontFamily;
  probe.remove();
  const known = Object.fromEntries(colours) as Record<keyof typeof TOKENS, string>;
  return { ...known, font, fill: faint(known.line) };
}

/** A browser that computes colours in another form has none below the line. */
function faint(colour: string): string {
  return colour.startsWith("rgb(") ? colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.08)") : "transparent";
}
