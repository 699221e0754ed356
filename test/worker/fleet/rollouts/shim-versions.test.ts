// Tests how the fleet index counts the shims' versions.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { VersionsAnswer } from "../../../../shared/protocol/fleet-answers.ts";
import type { FleetState } from "../../../../shared/fleet/state.ts";
import { MachineRows } from "../../../../worker/fleet/machine-rows.ts";
import { MOST_VERSIONS, shimVersions } from "../../../../worker/fleet/rollouts.ts";
import { machineName, summaryOf } from "../../support/made-up-fleet.ts";

type Machine = [version: string, state: FleetState];

function counted(object: string, machines: readonly Machine[]): Promise<VersionsAnswer> {
  return runInDurableObject(env.INDEX.getByName(object), (_, { storage: { sql } }) => {
    const rows = new MachineRows(sql);
    for (const [index, [shim, state]] of machines.entries()) {
      const summary = summaryOf(index, { state, versions: { ...summaryOf(index).versions, shim } });
      rows.take({ name: machineName(index), generation: 1, version: 1, summary, entries: [] });
    }
    return shimVersions(sql, "0.2.0");
  });
}

it("machines of several versions → counted by state, the newest first, outdated ones marked", async () => {
  const fleet: Machine[] = [
    ["0.1.0", "ready"],
    ["0.1.0", "ready"],
    ["0.1.0", "silent"],
    ["0.10.0", "ready"],
    ["0.2.0", "blocked"],
    ["dev", "ready"],
  ];
  expect(await counted("versions-some", fleet)).toEqual({
    worker: "0.2.0",
    shims: [
      { version: "0.10.0", machines: 1, isBehind: false, states: { ready: 1 } },
      { version: "0.2.0", machines: 1, isBehind: false, states: { blocked: 1 } },
      { version: "0.1.0", machines: 3, isBehind: true, states: { ready: 2, silent: 1 } },
      { version: "dev", machines: 1, isBehind: false, states: { ready: 1 } },
    ],
    others: 0,
  });
});

it.each([MOST_VERSIONS, MOST_VERSIONS + 1])(
  "%i versions → the commonest are named, the rest counted",
  async (many) => {
    const own: Machine[] = Array.from({ length: many - 1 }, (_, index) => [`0.0.${index}`, "ready"]);
    const { shims, others } = await counted(`versions-${many}`, [
      ...own,
      ["0.2.0", "ready"],
      ["0.2.0", "silent"],
    ]);
    expect([shims.length, others]).toEqual([MOST_VERSIONS, many - MOST_VERSIONS]);
    expect(shims[0]).toMatchObject({ version: "0.2.0", machines: 2 });
  },
);

it("no machines → none", async () => {
  expect(await counted("versions-none", [])).toEqual({ worker: "0.2.0", shims: [], others: 0 });
});
