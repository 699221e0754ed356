// Contract cases about the owners of fields after creates, updates and patches, as kube-apiserver records them.
import type { ScenarioCase } from "./case.ts";
import { creates } from "./managed-creates.ts";
import { updates } from "./managed-updates.ts";
import { ownershipCase } from "./ownership.ts";

export const managedFields: ScenarioCase[] = [...creates, ...updates].map(ownershipCase);
