// Reads the looks of a page for its tests, as the browser has computed them.
import type { Page } from "playwright-core";
import { type OpenPage, PHONE, WIDE } from "./chromium.ts";

/**
 * Lists the faults in the looks of the shown view, one in each line: axe's findings in either theme, on a phone, on a
 * wide screen and of a stale page, elements wider than the window, and moving elements. The window has a phone's size afterwards.
 */
export async function faultsOfLooks({ page, accessibilityFaults }: OpenPage): Promise<string[]> {
  await page.emulateMedia({ colorScheme: "light" });
  const faults = [...(await moving(page)), ...(await tooWide(page)), ...(await accessibilityFaults())];
  await page.emulateMedia({ colorScheme: "dark" });
  // The dark theme and a stale page differ only in colours, so axe checks only contrast.
  for (const fault of await accessibilityFaults("color-contrast")) faults.push(`dark: ${fault}`);
  for (const theme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    const connection = await setConnection(page, "stale");
    for (const fault of await accessibilityFaults("color-contrast")) faults.push(`stale, ${theme}: ${fault}`);
    await setConnection(page, connection);
  }
  // On a wide screen and in the dark theme, all rules.
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: "dark" });
  for (const fault of await accessibilityFaults()) faults.push(`wide and dark: ${fault}`);
  faults.push(...(await tooWide(page)));
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(PHONE);
  for (const fault of await accessibilityFaults()) faults.push(`phone: ${fault}`);
  return [...faults, ...(await tooWide(page))];
}

/** Gives the page the looks of another state of its connection; returns the state before. */
function setConnection(page: Page, connection: string): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { dataset } = document.querySelector(".frame");
    const before = dataset.connection;
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
