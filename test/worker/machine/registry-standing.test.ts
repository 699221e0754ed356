// What a machine's object asks the registry about a rotation.
import { expect, it, vi } from "vitest";
import { failure, success } from "../../../shared/result.ts";
import { CHANGED_TOO_OFTEN } from "../../../worker/machine/answers.ts";
import { RegistryStanding } from "../../../worker/machine/registry-standing.ts";

const MAC_KEYS = `a:${"A".repeat(43)}=`;

it("a registry that says `too often` is asked again only after an hour", async () => {
  const enrolment = { id: "id", name: "edge-1", generation: 1 };
  const prepared: string[] = [];
  const state = {
    records: { get: () => enrolment },
    keys: { prepare: ({ thumbprint }: { thumbprint: string }) => void prepared.push(thumbprint) },
  };
  const rotate = vi
    .fn()
    .mockResolvedValueOnce(failure({ reason: "too often" }))
    .mockResolvedValue(success(null));
  let nowMs = 1000;
  const registry = () => ({ rotate, confirm: vi.fn() });
  const standing = new RegistryStanding(state as never, registry, () => nowMs);
  const pinNext = () => standing.pinNext({ key: "x", thumbprint: "next" }, MAC_KEYS);
  expect(await pinNext()).toEqual(CHANGED_TOO_OFTEN);
  nowMs += 3_599_999;
  expect(await pinNext()).toEqual(CHANGED_TOO_OFTEN);
  expect(rotate).toHaveBeenCalledTimes(1);
  nowMs += 1;
  expect(await pinNext()).toMatchObject({ ok: true });
  expect(rotate).toHaveBeenCalledTimes(2);
  expect(prepared).toEqual(["next"]);
});
