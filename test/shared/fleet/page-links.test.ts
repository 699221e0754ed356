// Tests links to the page: for any name, the link leads to the page, and the name is one value of the query.
import { expect, it } from "vitest";
import { machineLink, outageLink } from "../../../shared/fleet/page-links.ts";

const ORIGIN = "https://rollcall.example.com";

it.each([
  ["a machine", machineLink(ORIGIN, "edge-7.example.com"), `${ORIGIN}/?machine=edge-7.example.com`],
  ["an outage", outageLink(ORIGIN, "12"), `${ORIGIN}/?outage=12`],
  [
    "an empty name",
    machineLink(ORIGIN, "a&view=b#c d|>é"),
    `${ORIGIN}/?machine=a%26view%3Db%23c%20d%7C%3E%C3%A9`,
  ],
])("%s → %s", (_, link, expected) => {
  expect(link).toBe(expected);
  expect(new URL(link).searchParams.size).toBe(1);
});
