// What a machine says of its own where the Worker refuses the origin that it signs for.
import { expect, it } from "vitest";
import type { RequestFault } from "../../../../node-shim/worker-link/exchange.ts";
import { namingOrigin } from "../../../../node-shim/worker-link/origin.ts";
import { leave } from "../../../../node-shim/worker-link/requests.ts";
import { makeMachineKey } from "../../../../node-shim/identity/identity.ts";
import { failure, success } from "../../../../shared/result.ts";
import { problem } from "../../../../worker/problems.ts";

const ORIGIN = "https://before.example.com";
const refused = (...args: Parameters<typeof problem>) =>
  failure<RequestFault>({ reason: "refused", problem: problem(...args), retryAfterMs: 7 });

it("a refused origin → which one this machine signs for, behind what the operator has to do", () => {
  const { detail } = problem("wrong-origin");
  expect(namingOrigin(refused("wrong-origin"), ORIGIN)).toEqual(
    refused("wrong-origin", { detail: `${detail} It signs for ${ORIGIN}.` }),
  );
});

it.each([
  ["an answer", success({ left: true })],
  ["another refusal", refused("unauthenticated")],
  ["no answer", failure<RequestFault>({ reason: "failed", message: "no" })],
])("%s → as it is", (_, outcome) => {
  expect(namingOrigin<unknown>(outcome, ORIGIN)).toBe(outcome);
});

it("a machine that is refused so → its commands say it", async () => {
  const send = async () => ({ status: 401, body: JSON.stringify(problem("wrong-origin")) });
  const machine = { name: "edge-1", origin: ORIGIN, key: await makeMachineKey(), kid: "k" };
  expect(await leave(send, machine)).toMatchObject({
    error: {
      problem: { detail: expect.stringMatching(/--url\)\. It signs for https:\/\/before\.example\.com\.$/) },
    },
  });
});
