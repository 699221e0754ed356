// Checks that each space, size of type and radius of the page comes from the scales of infra/page/base/tokens.css.
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";

const PAGE = resolve(import.meta.dirname, "../../infra/page");
/** The properties whose lengths come from the scales of tokens.css. */
const SCALED = /^\s*((?:font-size|border-radius|(?:row-|column-)?(?:gap|padding|margin)[a-z-]*): [^;]+);/gm;
/** Matches a length that is in no scale: more than 3 px, or in rem. Lengths in em grow with their text. */
const STRAY = /(?<![\w.-])-?(?:\d*\.?\d+rem|(?:[4-9]|\d{2,})(?:\.\d+)?px)\b/;

/** Returns the declarations with a stray length. */
const straysIn = (css: string) =>
  [...css.matchAll(SCALED)].flatMap(([, found = ""]) => (STRAY.test(found) ? [found] : []));

it.each([
  ["padding: var(--s1) 0;", []],
  ["gap: 3px;", []],
  ["margin-left: 0.4em;", []],
  ["gap: 4px;", ["gap: 4px"]],
  ["font-size: 0.8rem;", ["font-size: 0.8rem"]],
  ["margin: 0 -0.6rem;", ["margin: 0 -0.6rem"]],
  ["width: 20rem;", []],
])("%s → %j", (css, strays) => {
  expect(straysIn(css)).toEqual(strays);
});

it("each space, size of type and radius of the page is in a scale", () => {
  const files = globSync("**/*.css", { cwd: PAGE, exclude: ["fleet/**"] });
  expect(files.length).toBeGreaterThan(5);
  const strays = files.flatMap((file) =>
    straysIn(readFileSync(resolve(PAGE, file), "utf8")).map((each) => `${file}: ${each}`),
  );
  expect(strays).toEqual([]);
});
