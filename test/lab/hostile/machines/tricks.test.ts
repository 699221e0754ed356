// Tests the effect of each trick on the claims of a report.
import { expect, test } from "vitest";
import { randomOf } from "../random.ts";
import { played, type Trick, TRICKS } from "./tricks.ts";

const claims = { sub: "a", aud: "https://rollcall.test", body: "digest", ticket: "now", n: 7 };
const signed = { typ: "rollcall-report+jwt", claims };

test.each<[Trick, object]>([
  ["an older ticket", { ticket: "before" }],
  ["no ticket", { ticket: "" }],
  ["the same n, another body", { n: 6 }],
  ["n far ahead", { n: 2 ** 53 - 1 }],
  ["another name", { sub: "b" }],
  ["another origin", { aud: "https://elsewhere.example" }],
  ["the same again", {}],
])("%s", (trick, change) => {
  const surroundings = { random: randomOf(1, 1), older: ["before"], otherName: "b" };
  expect(played(trick, signed, surroundings)).toEqual({ ...signed, claims: { ...claims, ...change } });
});

test("each other trick changes the signed claims; none changes nothing", () => {
  const surroundings = () => ({ random: randomOf(1, 1), older: [], otherName: "b" });
  const same = TRICKS.filter(
    (trick) => JSON.stringify(played(trick, signed, surroundings())) === JSON.stringify(signed),
  );
  expect(same).toEqual(["the same again"]);
  expect(played(undefined, signed, surroundings())).toEqual(signed);
});
