// Who has reported with a machine's key of late, and whether several do.
import type { ListedSenders } from "../../../shared/protocol/operator-answers.ts";
import { machinePath } from "../base/machine-path.ts";
import { Answered } from "../parts/answered.tsx";
import { ScrollBox } from "../parts/scroll-box.tsx";
import { Time } from "../parts/time.tsx";
import { useAgainOnChange } from "../parts/use-again-on-change.ts";
import { useAnswer } from "../parts/use-answer.ts";

export function Senders({ name, change }: { name: string; change: string }) {
  const senders = useAnswer<ListedSenders>(machinePath(name, "/clones"));
  useAgainOnChange(senders, change);
  return (
    <Answered answer={senders} what="Who reports with the key could not be asked">
      {(value) => <SenderTable {...value} />}
    </Answered>
  );
}

function SenderTable({ double, senders }: ListedSenders) {
  return (
    <>
      <p>
        {double ? (
          <>
            <strong>Several report with this key</strong> ({double.phase}) since{" "}
            <Time at={double.since} form="absolute" />: they took turns {double.turns} times, the last time{" "}
            <Time at={double.lastTurn} />.
          </>
        ) : (
          "As far as is known, one sender alone reports with this key."
        )}
      </p>
      {senders.length > 0 && (
        <ScrollBox label="Senders">
          <table class="machine-senders">
            <thead>
              <tr>
                <th>Since</th>
                <th>Machine ID</th>
                <th>Boot ID</th>
                <th>Process</th>
                <th>Counts?</th>
              </tr>
            </thead>
            <tbody>
              {senders.map(({ machineID, bootID, process, since, isBelieved }) => (
                <tr key={`${machineID} ${bootID} ${process} ${since}`}>
                  <td>
                    <Time at={since} />
                  </td>
                  <td class="mono">{machineID}</td>
                  <td class="mono">{bootID}</td>
                  <td class="mono">{process}</td>
                  <td>{isBelieved ? "yes" : "no"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollBox>
      )}
    </>
  );
}
