// Tests which senders' IDs a node object remembers in memory. test/stories/clones.test.ts tests the senders' phases.
import { expect, it } from "vitest";
import { noteSender } from "../../../shared/node/duplicate-senders.ts";
import type { Report } from "../../../shared/protocol/report.ts";
import { DuplicateSenders } from "../../../worker/machine/duplicate-senders.ts";
import type { Stored } from "../../../worker/storage/journal.ts";
import { facts } from "../support/facts.ts";
import { countingRecords } from "../support/kube-in-between.ts";

const reportOf = (number: number) =>
  ({ startId: "start-1", factsDigest: `digest ${number}`, facts: facts("edge-1") }) as Report;

it.each([
  [256, true],
  [257, false],
])("%i different facts were reported → the IDs of the first ones are known: %s", (count, isKnown) => {
  const senders = new DuplicateSenders({ records: countingRecords() } as Partial<Stored> as Stored);
  for (let number = 1; number <= count; number++) senders.learnFrom(reportOf(number));
  const known = [1, 2, count].map((number) => senders.knowsFacts(`digest ${number}`));
  expect(known).toEqual([isKnown, true, true]);
});

it("two senders take turns → the list has the address of each, and its first and last turn", () => {
  const senders = new DuplicateSenders({ records: countingRecords() } as Partial<Stored> as Stored);
  const report = (boot: string, address: string, atMs: number) => {
    const { machine } = facts("edge-1");
    const sent = {
      startId: `start-${boot}`,
      factsDigest: boot,
      facts: { machine: { ...machine, bootID: boot } },
    };
    const sender = senders.senderOf(sent as unknown as Report, address);
    senders.update(noteSender(senders.seen, sender!, atMs, 40_000), atMs);
  };
  report("a", "192.0.2.1", 1000);
  report("b", "198.51.100.7", 2000);
  report("a", "192.0.2.1", 3000);
  const at = (ms: number) => new Date(ms).toISOString();
  expect(senders.list(3000).senders).toMatchObject([
    { bootID: "a", address: "192.0.2.1", firstAt: at(1000), since: at(3000) },
    { bootID: "b", address: "198.51.100.7", firstAt: at(2000), since: at(2000) },
  ]);
});

it("a turn that an earlier version stored → no address", () => {
  const turns = [{ machineID: "m", bootID: "b", startId: "s", sinceMs: 1000 }];
  const records = countingRecords();
  records.put("sightings", { turns });
  const senders = new DuplicateSenders({ records } as Partial<Stored> as Stored);
  expect(senders.list(2000).senders).toMatchObject([{ bootID: "b", address: "" }]);
});
