// Compares the phases in docs/protocol.md with the code.
import { expect, it } from "vitest";
import { PHASES } from "../../shared/protocol/answers.ts";
import { pages, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/protocol.md")!;

it("each phase has its row, and each row its phase", () => {
  const rows = tableRows(page, "phase").flatMap(([cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, phase]) => phase),
  );
  expect(rows).toHaveLength(PHASES.length);
  expect(new Set(rows)).toEqual(new Set(PHASES));
});
