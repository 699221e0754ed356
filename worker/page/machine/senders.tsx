// Who has reported with a machine's key of late, and whether several do.
import type { ListedSenders } from "../../../shared/protocol/operator-answers.ts";
import { useEffect } from "preact/hooks";
import { FaultNotice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { Nothing } from "./section.tsx";
import { machinePath } from "./use-machine.ts";

/** `change`: it is asked again when that is another. */
export function Senders({ name, change }: { name: string; change: string }) {
  const { value, fault, again } = useAnswer<ListedSenders>(machinePath(name, "/clones"));
  useEffect(() => {
    if (value) again();
  }, [change]);
  return (
    <>
      {fault && (
        <FaultNotice what="Who reports with the key could not be asked" fault={fault} again={again} />
      )}
      {value ? <SenderTable {...value} /> : !fault && <Nothing>Asking …</Nothing>}
    </>
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
        <div class="scroll" tabIndex={0} role="region" aria-label="Senders">
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
        </div>
      )}
    </>
  );
}
