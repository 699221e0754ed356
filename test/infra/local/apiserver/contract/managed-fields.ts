// Lists the owners of fields after creates, updates and patches, which the embedded and a real apiserver must
// record alike.
import type { ScenarioCase } from "./case.ts";
import { creates } from "./managed-creates.ts";
import { updates } from "./managed-updates.ts";
import { ownershipCase } from "./ownership.ts";

export const managedFields: ScenarioCase[] = [...creates, ...updates].map(ownershipCase);
