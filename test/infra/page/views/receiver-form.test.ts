import { describe, expect, it } from "vitest";
import {
  receiverBody,
  receiverFaults,
  type ReceiverForm,
  STATES,
} from "../../../../infra/page/views/receiver-form.tsx";
import {
  ALERT_STATES,
  newReceiverSchema,
  receiverChangeSchema,
} from "../../../../shared/protocol/receiver-api.ts";

const form: ReceiverForm = {
  name: "chat",
  url: "https://hooks.example.com/1",
  format: "json",
  names: "",
  selector: "",
  states: ["silent"],
  outagesOnly: false,
  withDiagnosis: false,
  delaySeconds: "120",
  repeatMinutes: "",
  authorization: "",
};

it("the form offers the states that a receiver can be notified of", () => {
  expect(STATES).toEqual([...ALERT_STATES]);
});

describe("a form → its faults, all at once", () => {
  it.each<[string, Partial<ReceiverForm>, boolean, string[]]>([
    ["a valid one", {}, true, []],
    ["an empty one", { name: "", url: "" }, true, ["name", "url"]],
    ["a change without an address → the stored one stays", { url: "" }, false, []],
    ["another protocol", { url: "ftp://example.com" }, false, ["url"]],
    ["capital letters", { name: "Chat", names: "Edge" }, true, ["name", "names"]],
    ["a name of 64 characters", { name: "a".repeat(64) }, true, ["name"]],
    ["no state", { states: [] }, true, ["states"]],
    ["a day", { delaySeconds: "86400" }, true, []],
    ["more than a day", { delaySeconds: "86401" }, true, ["delaySeconds"]],
    ["no number", { delaySeconds: "soon", repeatMinutes: "often" }, true, ["delaySeconds", "repeatMinutes"]],
    ["never again", { repeatMinutes: "0" }, true, []],
    ["too often", { repeatMinutes: "4" }, true, ["repeatMinutes"]],
    ["each five minutes, each week", { repeatMinutes: "10080" }, true, []],
  ])("%s", (_, change, isNew, fields) => {
    expect(Object.keys(receiverFaults({ ...form, ...change }, isNew))).toEqual(fields);
  });
});

describe("a form without faults → a body that the Worker takes", () => {
  it.each<[string, Partial<ReceiverForm>, object]>([
    ["no more than is needed", {}, {}],
    ["repeated", { repeatMinutes: "60" }, { repeatMinutes: 60 }],
    [
      "of some machines",
      { names: " edge-* ", selector: "site=berlin" },
      { names: "edge-*", selector: "site=berlin" },
    ],
    ["with a header", { authorization: "Bearer x" }, { authorization: "Bearer x" }],
  ])("%s", (_, change, more) => {
    const wish = {
      format: "json",
      names: "",
      selector: "",
      states: ["silent"],
      outagesOnly: false,
      withDiagnosis: false,
      delaySeconds: 120,
    };
    const expected = { ...wish, url: form.url, ...more };
    expect(receiverBody({ ...form, ...change }, true)).toEqual({ ...expected, name: "chat" });
    expect(newReceiverSchema.safeParse({ ...expected, name: "chat" }).success).toBe(true);
    expect(receiverChangeSchema.safeParse(receiverBody({ ...form, ...change, url: "" }, false)).success).toBe(
      true,
    );
  });
});
