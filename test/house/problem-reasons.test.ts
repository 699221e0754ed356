// Compares the reasons and statuses of problem documents in docs/protocol.md with the API's description.
// test/stories/api-description.test.ts compares the API's description with the Worker.
import { expect, it } from "vitest";
import { REASON_STATUSES } from "../../shared/protocol/answers.ts";
import { pages, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/protocol.md")!;

it("docs/protocol.md lists every reason with its status, and no other", () => {
  const answered = Object.entries(REASON_STATUSES).map(([reason, status]) => `${status} ${reason}`);
  const listed = tableRows(page, "reason").map(([reason = "", status]) => `${status} ${reason.slice(1, -1)}`);
  expect(listed.sort()).toEqual(answered.sort());
});
