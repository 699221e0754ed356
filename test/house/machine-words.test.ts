// docs/configuration.md lists where our words differ from a kubelet's.
import { expect, it } from "vitest";
import { inMachineWords, KUBELET_WORDS } from "../../shared/setters/machine-words.ts";
import { pages, tableRows } from "./markdown.ts";

it("docs/configuration.md shows the words of each condition", () => {
  const page = pages().find(({ path }) => path === "docs/configuration.md")!;
  const rows = Object.entries(KUBELET_WORDS).flatMap(([type, messages]) =>
    messages.map((message) => [type, message, inMachineWords(type, message)].map((text) => `\`${text}\``)),
  );
  expect(tableRows(page, "condition")).toEqual(rows);
});
