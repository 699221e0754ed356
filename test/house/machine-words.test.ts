// docs/configuration.md lists where our words differ from a kubelet's.
import { expect, it } from "vitest";
import { MACHINE_WORDS } from "../../shared/setters/machine-words.ts";
import { pages, tableRows } from "./markdown.ts";

it("docs/configuration.md shows the words of each condition", () => {
  const page = pages().find(({ path }) => path === "docs/configuration.md")!;
  const rows = Object.entries(MACHINE_WORDS).flatMap(([type, words]) =>
    words.map(({ upstream, ours }) => [type, upstream, ours].map((text) => `\`${text}\``)),
  );
  expect(tableRows(page, "condition")).toEqual(rows);
});
