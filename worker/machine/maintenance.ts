// Stores an operator's order about the machine's maintenance, and ends a maintenance whose time is over.
import {
  ITS_END,
  maintained,
  type MaintenanceOrder,
  maintenanceAfter,
  missingConditions,
  statedMaintenance,
} from "../../shared/node/maintenance.ts";
import { decidedConditions } from "../../shared/node/decided.ts";
import { draftOf } from "../../shared/node/update-node.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import { maintenanceFor } from "../tick/maintenance.ts";
import type { MachineState } from "./machine-state.ts";

type Stored = Pick<MachineState, "records" | "journal" | "alarm">;

/**
 * Stores the order, so that views and alerts follow it at once. The alarm writes the Node, because the machine may be
 * off. Returns false if no machine is enrolled.
 */
export async function orderMaintenance(
  state: Stored,
  order: MaintenanceOrder,
  nowMs: number,
): Promise<boolean> {
  const { records, alarm } = state;
  if (!records.get("enrolment") || records.get("isLeaving")) return false;
  apply(state, order, nowMs);
  await alarm.atLatest(nowMs);
  return true;
}

/** Ends a maintenance whose time is over, or sets the alarm to its end. Call it when the alarm rings. */
export async function checkMaintenance(state: Stored, nowMs: number): Promise<void> {
  const untilMs = state.records.get("maintenance")?.untilMs ?? null;
  if (untilMs === null) return;
  if (nowMs < untilMs) return state.alarm.atLatest(untilMs);
  apply(state, ITS_END, nowMs);
}

/** Restores the order, with its end, that the registered Node states: the object or the deployment was lost. */
export async function restoreMaintenance({ records, alarm }: Stored, nowMs: number): Promise<void> {
  const { node = {} } = records.get("node") ?? {};
  const stated = records.get("maintenance") ? undefined : statedMaintenance(node, nowMs);
  if (!stated) return;
  records.put("maintenance", stated);
  await alarm.atLatest(stated.untilMs);
}

function apply({ records, journal }: Stored, order: MaintenanceOrder, nowMs: number): void {
  const node = records.get("node")?.node ?? {};
  const decided = records.get("decided") ?? [];
  const known = [...decided, ...decidedConditions(node)];
  const maintenance = maintenanceAfter(known, order, nowMs);
  records.put("maintenance", maintenance);
  const draft = draftOf({ status: { conditions: [...decided] } });
  maintained(maintenance)(draft);
  journal.decide({
    node: draft,
    memory: records.get("memory") ?? NOTHING_REMEMBERED,
    events: [],
    nowMs,
  });
}

/** Reports whether the machine's Node lacks a condition of the maintenance. */
export function isMaintenanceDue({ records }: Pick<MachineState, "records">): boolean {
  const node = records.get("registration")?.phase === "registered" && records.get("node")?.node;
  return node ? missingConditions(maintenanceFor(records, node), node).length > 0 : false;
}
