// The events that rollcall records are in one table, which docs/reporting.md shows.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { EVENT_REASONS } from "../../shared/events/reasons.ts";
import { pages, root, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/reporting.md")!;

it("docs/reporting.md shows the table", () => {
  const rows = Object.entries(EVENT_REASONS).map(([reason, { type, when, isUpstream }]) => [
    `\`${reason}\``,
    type,
    when,
    isUpstream ? "yes" : "no",
  ]);
  expect(tableRows(page, "event")).toEqual(rows);
});

const sources = globSync("{shared/setters,shared/events,worker}/**/*.ts", { cwd: root }).map((file) =>
  readFileSync(join(root, file), "utf8"),
);
/** Calls that record an event, constants of that type, and the wordings of pressure conditions. */
const RECORDED =
  /(?:record(?:Status)?Event\("(?:Normal|Warning)",|\bwarn\(|: EventReason =|\bevent:|type: "(?:Normal|Warning)", reason:)([^;]*?)[,;)}]\s/g;

test("each reason that the sources name is in the table, and the other way round", () => {
  const named = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(RECORDED)].flatMap(([, text = ""]) =>
        [...text.matchAll(/"([A-Z]\w+)"/g)].map(([, reason = ""]) => reason),
      ),
    ),
  );
  // Of clones, by phase.
  for (const reason of ["MachineCloned", "TwoShims"]) named.add(reason);
  expect([...named].sort()).toEqual(Object.keys(EVENT_REASONS).sort());
});
