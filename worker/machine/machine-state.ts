// Opens the stored state of a machine, once when its node object wakes.
import { type Environment, hasFeatureLabels, settingsBounds } from "../env.ts";
import { type History, machineHistory } from "../storage/history.ts";
import { type Journal, journal } from "../storage/journal.ts";
import { eventOutbox, type Outbox } from "../storage/outbox.ts";
import { type NodeRecordStore, nodeRecordStore } from "../storage/records.ts";
import { machineSamples, type Samples } from "../storage/samples.ts";
import { nodeTables, type Tables } from "../storage/tables.ts";
import { DuplicateSenders } from "./duplicate-senders.ts";
import { KnownFacts } from "./known-facts.ts";
import { LazyAlarm } from "../storage/lazy-alarm.ts";
import { PinnedKeys } from "./pinned-keys.ts";
import { currentMs } from "../clock.ts";

export interface MachineState {
  records: NodeRecordStore;
  outbox: Outbox;
  history: History;
  samples: Samples;
  journal: Journal;
  keys: PinnedKeys;
  facts: KnownFacts;
  senders: DuplicateSenders;
  alarm: LazyAlarm;
  tables: Tables;
}

/** Returns the machine's stored state. Throws if a newer Worker stored it, as storage/migrations.ts does. */
export function openMachineState(storage: DurableObjectStorage, env: Environment): MachineState {
  const { sql } = storage;
  const tables = nodeTables(storage);
  const samples = machineSamples(sql, tables);
  const records = nodeRecordStore(sql, tables, samples);
  const outbox = eventOutbox(storage, tables, records);
  const history = machineHistory(sql, tables);
  const stored = { records, journal: journal(storage, records, outbox, history) };
  return {
    ...stored,
    outbox,
    history,
    samples,
    keys: new PinnedKeys(records),
    facts: new KnownFacts(stored, () => ({
      ...settingsBounds(env),
      hasFeatureLabels: hasFeatureLabels(env),
    })),
    senders: new DuplicateSenders(stored),
    alarm: new LazyAlarm(storage, currentMs),
    tables,
  };
}
