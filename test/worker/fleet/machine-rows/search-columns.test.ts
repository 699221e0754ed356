// By what machines are found: the texts of the columns.
import { expect, it } from "vitest";
import { pairsText } from "../../../../worker/fleet/machine-rows.ts";

it("a set of pairs → each is found whole", () => {
  const text = pairsText([
    ["site", "berlin"],
    ["machine", ""],
  ]);
  expect(
    ["\nsite=berlin\n", "\nmachine=\n", "\nsite=ber\n", "\nite=berlin\n"].map((each) => text.includes(each)),
  ).toEqual([true, true, false, false]);
  expect(pairsText([])).toBe("");
});
