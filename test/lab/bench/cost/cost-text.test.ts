import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { dollarsOfUsage } from "./bill.ts";
import { billRows, costText, dollarsText, usageDollars } from "./cost-text.ts";
import { recordedCosts } from "./recorded.ts";

test.each([
  [0, "0"],
  [0.000004, "<0.00001"],
  [0.000005, "0.00001"],
  [0.00821, "0.00821"],
  [0.0821, "0.0821"],
  [0.1492, "0.149"],
  [4.2, "4.20"],
  [42, "42.00"],
])("%d dollars → %s", (dollars, text) => {
  expect(dollarsText(dollars)).toBe(text);
});

test("the printed tables fit a terminal of 80 columns, and name computed values", () => {
  const text = costText(recordedCosts());
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(text).toMatch(/^in all {2}.*\d$/m);
  expect(text).toContain("Computed, not counted");
});

test("a whole fleet's month is the plan, and the usage of its machines", () => {
  const rows = billRows(Object.entries(recordedCosts().counted));
  expect(rows.map(([machines]) => machines)).toEqual(["machines", "1", "100", "10,000", "100,000"]);
  const [, one = [], hundred = [], , most = []] = rows;
  // A single machine pays all fixed costs: $4.20 for the object that watches the Nodes, and $5 for the plan.
  expect(one[1]).toBe("$9");
  expect(Number(hundred[1]!.slice(1))).toBeLessThan(100 * 9);
  expect(most[3]).toBe("10,361");
});

const page = readFileSync(new URL("../../../../docs/costs.md", import.meta.url), "utf8");

test("docs/costs.md has the price of questions", () => {
  const [socket, bundle, http] = ["disks, sockets", "bundle, sockets", "disks, HTTP"].map((name) => {
    const { usage, cpuMs } = recordedCosts().questions[name]!;
    return `$${dollarsText(1000 * dollarsOfUsage(usage, cpuMs))}`;
  });
  const text = `at most ${socket} for machines with sockets, ${bundle} if each is a bundle of 8 MiB, and ${http} for`;
  expect(page.replaceAll(/\s+/g, " ")).toContain(text);
});

test("docs/costs.md has the price of usage frames", () => {
  expect(page).toContain(
    `costs one more message a minute, $${dollarsText(usageDollars(recordedCosts()))} a month`,
  );
});
