// Tests the texts in the columns that a search uses.
import { expect, it } from "vitest";
import { pairsText } from "../../../../worker/fleet/machine-rows.ts";

it("a set of pairs → the search finds each as a whole", () => {
  const text = pairsText([
    ["site", "berlin"],
    ["machine", ""],
  ]);
  expect(
    ["\nsite=berlin\n", "\nmachine=\n", "\nsite=ber\n", "\nite=berlin\n"].map((each) => text.includes(each)),
  ).toEqual([true, true, false, false]);
  expect(pairsText([])).toBe("");
});
