// Draws the Node's conditions, wrong ones first, each with a sign, its age and a remedy.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { CONDITION_EXPLANATIONS } from "../../../shared/fleet/explanations.ts";
import { type Column, DataTable } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { conditionRows, type ConditionRow } from "./condition-rows.ts";
import { Nothing, Section } from "./section.tsx";
import type { WatchedMachine } from "./use-machine.ts";

export function ConditionsSection({ machine, whole }: { machine: WatchedMachine; whole: WholeNode }) {
  const rows = conditionRows(whole);
  const isOld = machine.diagnosis?.state === "silent";
  return (
    <Section id="conditions" aside={isOld && <span class="quiet">as last reported</span>}>
      {rows.length === 0 ? (
        <Nothing>None yet: they come with its first accepted report.</Nothing>
      ) : (
        <DataTable
          label="Conditions"
          rows={rows}
          columns={COLUMNS}
          keyOf={({ type }) => type}
          rowClass={({ isWell }) => (isWell ? undefined : "machine-wrong")}
        />
      )}
    </Section>
  );
}

const COLUMNS: readonly Column<ConditionRow>[] = [
  {
    head: "Condition",
    isRowHead: true,
    cell: ({ type }) => <span title={CONDITION_EXPLANATIONS[type]?.means}>{type}</span>,
  },
  {
    head: "Status",
    cell: ({ status, isWell }) => (
      <span class={`state ${isWell ? "machine-good" : "machine-bad"}`}>
        <span class="sign" aria-hidden="true">
          {isWell ? "✓" : "✗"}
        </span>
        {status}
      </span>
    ),
  },
  { head: "Since", cell: ({ since }) => <Time at={since} form="since" /> },
  {
    head: "Message",
    class: "wrap",
    cell: ({ message, reason }) => (
      <>
        {message} {reason && <span class="quiet mono">{reason}</span>}
      </>
    ),
  },
];
