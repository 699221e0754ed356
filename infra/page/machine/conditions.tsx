// The Node's conditions: wrong ones first, each with a sign, its age, and what to do.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { CONDITION_EXPLANATIONS } from "../../../shared/fleet/explanations.ts";
import { TableHead } from "../parts/table.tsx";
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
        <table class="machine-cards">
          <TableHead heads={["Condition", "Status", "Since", "Message"]} />
          <tbody>
            {rows.map((row) => (
              <ConditionLine key={row.type} row={row} />
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function ConditionLine({ row: { type, status, reason, message, since, isWell } }: { row: ConditionRow }) {
  return (
    <tr class={isWell ? undefined : "machine-wrong"}>
      <th scope="row" title={CONDITION_EXPLANATIONS[type]?.means}>
        {type}
      </th>
      <td>
        <span class={`state ${isWell ? "machine-good" : "machine-bad"}`}>
          <span class="sign" aria-hidden="true">
            {isWell ? "✓" : "✗"}
          </span>
          {status}
        </span>
      </td>
      <td>
        <Time at={since} form="since" />
      </td>
      <td>
        {message} {reason && <span class="quiet mono">{reason}</span>}
      </td>
    </tr>
  );
}
