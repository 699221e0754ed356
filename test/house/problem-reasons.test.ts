// The reasons of problem documents, with their statuses: docs/protocol.md lists what the Worker answers.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pages, root, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/protocol.md")!;
/** The table is of the Worker's own types, which the tests of the repository do not load. */
const source = readFileSync(join(root, "worker/problems.ts"), "utf8");
const PROBLEM = /^ {2}"?([a-z-]+)"?: \[\s*(\d{3}),/gm;

it("docs/protocol.md lists every reason with its status, and no other", () => {
  const answered = [...source.matchAll(PROBLEM)].map(([, reason, status]) => `${status} ${reason}`);
  const listed = tableRows(page, "reason").map(([reason = "", status]) => `${status} ${reason.slice(1, -1)}`);
  expect(answered).toContain("400 invalid-json");
  expect(listed.sort()).toEqual(answered.sort());
});
