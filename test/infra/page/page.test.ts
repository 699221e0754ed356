import { expect, it } from "vitest";
import { messagesOf } from "../../../infra/page/page.ts";

function opened() {
  const later: (() => void)[] = [];
  const { messages, notify, dismiss } = messagesOf((act) => void later.push(act));
  const texts = () => messages.value.map(({ text }) => text);
  return { texts, notify, dismiss, pass: () => later.splice(0).forEach((act) => act()), messages };
}

it("news goes by itself, a fault stays until it is put away", () => {
  const { texts, notify, dismiss, pass, messages } = opened();
  notify("done");
  notify("failed", "fault");
  expect(texts()).toEqual(["done", "failed"]);
  pass();
  expect(texts()).toEqual(["failed"]);
  dismiss(messages.value[0]!.id);
  expect(texts()).toEqual([]);
});

it("of more than four the latest are shown", () => {
  const { texts, notify } = opened();
  for (const text of ["a", "b", "c", "d", "e"]) notify(text, "fault");
  expect(texts()).toEqual(["b", "c", "d", "e"]);
});
