// Tests that a seed and an index determine a socket's hostile frame, and that a frame that is still valid is not
// sent.
import { expect, it } from "vitest";
import { frameGenerator } from "./frame-generator.ts";
import { reportRequest, reportText, type Shot } from "./shot.ts";
import { isStillValidShot } from "./still-valid-shot.ts";
import type { Tapped } from "./tapped.ts";

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
const SIGNATURE = Buffer.alloc(64, 7).toString("base64url");
const jwt = (claims: object, header: object = { alg: "EdDSA", kid: "1.a.b.c" }) =>
  `${encoded(header)}.${encoded(claims)}.${SIGNATURE}`;
const report = (n: number) =>
  ({ type: "report", token: jwt({ sub: "edge", n }), body: `{"n":${n}}` }) as const;
const beat = (n: number) => {
  const heartbeat = { type: "heartbeat", n, at: 1, available: [1, 2, 3, 4, 5, 6] };
  return `${JSON.stringify(heartbeat)}\n${"A".repeat(22)}`;
};
const tapped = (name: string): Tapped => ({
  name,
  own: "A".repeat(43),
  theirs: "B".repeat(43),
  nonces: ["C".repeat(22)],
  reports: [report(1), report(2)],
  beats: [beat(1)],
  withheld: { report: report(3), overHttp: report(4), beat: beat(2), wrongBeats: [beat(3)] },
});
const proof = jwt({ sub: "edge", challenge: "1.2.3" }, { alg: "EdDSA", jwk: { x: "AAAA" } });
const enrolment = {
  method: "PUT",
  path: "/v1/nodes/edge/enrolment",
  headers: {},
  body: JSON.stringify({ protocol: 1, proof, binding: proof }),
} as const;
const around = {
  target: tapped("edge"),
  others: [tapped("edge"), tapped("other")],
  before: tapped("edge"),
  enrolment,
};

it("a seed and an index determine the kind and the frame", async () => {
  const [make, again, other] = await Promise.all([frameGenerator(7), frameGenerator(7), frameGenerator(8)]);
  const indexes = Array.from({ length: 500 }, (_, index) => index);
  const made = indexes.map((index) => make(index, around));
  expect(indexes.map((index) => again(index, around))).toEqual(made);
  const others = indexes.map((index) => other(index, around));
  expect(others.map(({ kind }) => kind)).toEqual(made.map(({ kind }) => kind));
  expect(others).not.toEqual(made);
});

const { target } = around;
const { withheld } = target;
const twice = `{"body":"x",${reportText(withheld.report).slice(1)}`;
it.each<[what: string, Shot, isStillValid: boolean]>([
  ["the report that was withheld", { text: reportText(withheld.report) }, true],
  ["the same, formatted differently", { text: ` ${reportText(withheld.report)}` }, true],
  ["the same, with duplicate keys of which the last counts", { text: twice }, true],
  ["the same in binary", { binary: Buffer.from(reportText(withheld.report)) }, false],
  ["the last report, once more", { text: reportText(report(2)) }, true],
  ["an earlier one", { text: reportText(report(1)) }, false],
  ["one for HTTP", { text: reportText(withheld.overHttp) }, false],
  ["one for HTTP, over HTTP", { request: reportRequest("edge", withheld.overHttp) }, true],
  ["the socket's over HTTP", { request: reportRequest("edge", withheld.report) }, false],
  ["one with an additional field", { text: reportText({ ...withheld.report, more: 1 } as never) }, false],
  ["the next heartbeat", { text: withheld.beat }, true],
  ["the next heartbeat with a blank", { text: ` ${withheld.beat}` }, false],
  ["the last heartbeat", { text: beat(1) }, false],
  ["a ping", { ping: new Uint8Array() }, false],
])("%s → still valid: %s", (_, shot, isStillValid) => {
  expect(isStillValidShot(shot, target)).toBe(isStillValid);
});
