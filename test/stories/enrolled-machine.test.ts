// An enrolled machine that follows the protocol and means harm: what it can change is its own Node, within limits.
import { describe, expect, it } from "vitest";
import type { MachineKey } from "../../node-shim/identity/machine-key.ts";
import { makeMachineKey } from "../../node-shim/identity/machine-key.ts";
import { leave, rotate } from "../../node-shim/worker-link/requests.ts";
import type { AuditEntry } from "../../shared/protocol/operator-answers.ts";
import { CHANGES_A_DAY } from "../../worker/registry/audit.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  type EnrolledMachine,
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  mintToken,
  operator,
  shimOf,
  transport,
} from "../worker/support/machine.ts";

const TOO_OFTEN = { status: 429, reason: "rate-limited" };
const RATE_LIMITED = { ...TOO_OFTEN, retryAfterSeconds: 3600 };

const log = async (by: "operators" | "machines", target: string) => {
  const { body } = await operator<{ entries: AuditEntry[] }>(
    "GET",
    `/v1/audit?by=${by}&target=${target}&limit=1000`,
  );
  return body.entries.map(({ what }) => what);
};
const times = (count: number, what: string) => Array.from({ length: count }, () => what);
const credentials = ({ name, key, kid }: Omit<EnrolledMachine, "ticket">) => ({
  name,
  origin: ORIGIN,
  key,
  kid,
});

describe("a machine that changes what the registry keeps", () => {
  it("rotates all the time → so often a day and no more; operators' acts stay, and its heartbeat goes on", async () => {
    const name = "rotates-all-the-time";
    const machine = await enrolled(name);
    const report = shimOf(machine);
    await report(facts(name), HEALTHY);
    await operator("POST", `/v1/nodes/${name}/register`);
    const keys = [await makeMachineKey(), await makeMachineKey()] as [MachineKey, MachineKey];
    const rotating = (turn: number) => rotate(transport, credentials(machine), keys[turn % 2]!);
    for (let turn = 0; turn < CHANGES_A_DAY; turn++) expect(await rotating(turn)).toMatchObject({ ok: true });
    for (const turn of [0, 1])
      expect(await rotating(turn)).toMatchObject({ ok: false, error: { problem: RATE_LIMITED } });
    expect(await log("machines", name)).toEqual([...times(CHANGES_A_DAY, "machine.rotate"), "machine.enrol"]);
    expect(await log("operators", name)).toEqual(["node.register"]);
    expect(await report(facts(name), HEALTHY)).toMatchObject({ ok: true, value: { phase: "registered" } });
  });

  it("enrols and leaves all the time → so often a day and no more", async () => {
    const name = "enrols-all-the-time";
    const joinToken = await mintToken({ names: name, uses: 1000 });
    for (let turn = 0; turn < CHANGES_A_DAY; turn++) {
      const key = await makeMachineKey();
      const { kid } = (await enrolling(name, { joinToken, key })) as { kid: string };
      expect(await leave(transport, credentials({ name, key, kid }))).toMatchObject({ ok: true });
    }
    expect(await enrolling(name, { joinToken, key: await makeMachineKey() })).toEqual(TOO_OFTEN);
    const turn = ["machine.leave", "machine.enrol"];
    expect(await log("machines", name)).toEqual(Array.from({ length: CHANGES_A_DAY }, () => turn).flat());
  });

  it("asks for another machine's name all the time → so often a day and no more", async () => {
    const name = "wanted-all-the-time";
    await enrolled(name);
    const asking = async () => {
      const key = await makeMachineKey();
      const outcome = await enrolling(name, { joinToken: await mintToken({ names: name }), key });
      await operator("POST", `/v1/nodes/${name}/reject`, { thumbprint: key.thumbprint });
      return outcome;
    };
    for (let turn = 0; turn < CHANGES_A_DAY; turn++)
      expect(await asking()).toEqual({ status: 409, reason: "name-pinned" });
    expect(await asking()).toEqual(TOO_OFTEN);
  });
});
