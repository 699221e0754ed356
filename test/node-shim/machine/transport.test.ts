// Tests the values of --transport.
import { expect, test } from "vitest";
import { transportOf } from "../../../node-shim/machine/transport.ts";

test.each([
  [undefined, "auto"],
  ["auto", "auto"],
  ["http", "http"],
  ["socket", "socket"],
])("%s → %s", (transport, choice) => {
  expect(transportOf(transport === undefined ? {} : { transport })).toBe(choice);
});

test.each(["", "HTTP", "websocket"])("%s → refused, with advice", (transport) => {
  expect(() => transportOf({ transport })).toThrow(`--transport ${transport}: must be auto, http or socket`);
});
