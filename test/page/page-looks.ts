// How a page looks, as its test asks for it: what the browser has computed. No test of its own.
import type { Page } from "playwright-core";
import { type OpenPage, PHONE } from "./chromium.ts";

/**
 * What is wrong with the looks of the view that is shown, a line each: what axe finds in either theme, what is wider than the
 * window or a phone, and what moves. The window has a phone's size then.
 */
export async function faultsOfLooks({ page, accessibilityFaults }: OpenPage): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "light" });
  const faults = [...(await moving(page)), ...(await tooWide(page)), ...(await accessibilityFaults())];
  await page.emulateMedia({ colorScheme: "dark" });
  // Nothing but colours differs.
  for (const fault of await accessibilityFaults("color-contrast")) faults.push(`dark: ${fault}`);
  await page.setViewportSize(PHONE);
  return [...faults, ...(await tooWide(page))];
}

/** The computed value of a property of the first element that matches: `grayscale(1)`. */
export function styleOf(page: Page, selector: string, property: string): Promise<string> {
  return page.evaluate<string>(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).getPropertyValue(${JSON.stringify(property)})`,
  );
}

/** Once the page has been laid out for the window: `412 px of 360`, where somebody has to scroll sideways. */
export function tooWide(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`new Promise((laidOut) => requestAnimationFrame(() => setTimeout(() => {
    const { scrollWidth } = document.documentElement;
    laidOut(scrollWidth > innerWidth ? [scrollWidth + " px of " + innerWidth] : []);
  })))`);
}

/** What moves by itself, or would when it changes: `button.primary transition 0.2s`. What follows scrolling does not. */
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

/** The texts of a column of the fleet's table, of the rows that are drawn. */
export function columnOf(page: Page, column: string): Promise<string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll("tbody .fleet-cell-${column}")].map(({ textContent }) => textContent.trim())`,
  );
}

/** What has the focus: its role or element, and its name: `button Act on it …`. */
export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { activeElement: at } = document;
    if (!at || at === document.body) return "";
    const name = at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent;
    return (at.getAttribute("role") ?? at.localName) + " " + name.trim().replace(/\\s+/g, " ");
  })()`);
}
