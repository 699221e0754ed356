// Compares the reasons of the frames `again` and `closing` in docs/protocol.md with the code.
import { expect, it } from "vitest";
import { AGAIN_REASONS, CLOSING_REASONS } from "../../shared/protocol/frames.ts";
import { pages, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/protocol.md")!;

it("again", () => {
  const said = tableRows(page, "condition").flatMap(([, answer = ""]) => {
    return /^`again`, `(.+)`$/.exec(answer)?.[1] ?? [];
  });
  expect(new Set(said)).toEqual(new Set(AGAIN_REASONS));
});

it("closing", () => {
  const rows = tableRows(page, "`reason`").map(([reason = ""]) => reason.replaceAll("`", ""));
  // Of several rows for one reason, only the first has the reason in its cell.
  expect(rows.filter((reason) => reason !== "")).toEqual(CLOSING_REASONS);
});
