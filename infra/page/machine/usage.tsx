// Draws what the machine uses, if it sends its usage. The Worker asks its gateways, so the page asks only when the
// operator opens the fold.
import type { MachineUsage, UsageAnswer } from "../../../shared/protocol/fleet-answers.ts";
import { bytesText, digits } from "../base/amounts.ts";
import { useAnswer } from "../parts/answer.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { Moment } from "../parts/time.tsx";
import { Fold, Nothing } from "./section.tsx";

export function UsageFold({ name }: { name: string }) {
  return (
    <Fold title="What it uses now">
      <UsageNow name={name} />
    </Fold>
  );
}

function UsageNow({ name }: { name: string }) {
  const { value, fault, isLoading, again } = useAnswer<UsageAnswer>("/v1/usage", { name });
  if (fault) return <FaultNotice what="Its usage could not be read" fault={fault} again={again} />;
  if (value === null) return <p class="quiet">Asking the gateways …</p>;
  const usage = value.machines.find((each) => each.name === name);
  return (
    <>
      {usage ? (
        <Pairs pairs={[...usageRows(usage), ["As of", <Moment key="at" at={usage.at} />]]} />
      ) : (
        <Nothing>
          {value.isComplete
            ? "It sends none: it needs --send-usage, and a socket. After a deployment it takes a minute."
            : "A gateway did not answer."}
        </Nothing>
      )}
      <button type="button" disabled={isLoading} onClick={again}>
        Ask again
      </button>
    </>
  );
}

/** Returns the rows that have a value. Rates are averages of about a minute. */
export function usageRows(usage: MachineUsage): [name: string, text: string][] {
  const { cpuUsed, cpus, load1, load5, load15, memoryWorkingSetBytes, memoryCapacityBytes } = usage;
  const perSecond = (bytes: number) => `${bytesText(bytes)}/s`;
  const rows: [string, string | null][] = [
    ["CPU", ofWhole(cpuUsed, cpus, digits)],
    ["Load of 1, 5, 15 minutes", joined([load1, load5, load15], digits)],
    ["Memory", ofWhole(memoryWorkingSetBytes, memoryCapacityBytes, bytesText)],
    [
      "Disks, read and written",
      joined([usage.diskReadBytesPerSecond, usage.diskWrittenBytesPerSecond], perSecond),
    ],
    [
      "Network, in and out",
      joined([usage.networkReceivedBytesPerSecond, usage.networkSentBytesPerSecond], perSecond),
    ],
    [
      "Waits for CPU, memory, disks",
      joined([usage.cpuPressure, usage.memoryPressure, usage.ioPressure], percentText),
    ],
    ["Temperature", joined([usage.temperatureCelsius], (degrees) => `${digits(degrees)} °C`)],
  ];
  return rows.flatMap(([title, text]): [string, string][] => (text === null ? [] : [[title, text]]));
}

const percentText = (share: number) => `${Math.round(100 * share)}%`;

function ofWhole(part: number | null, whole: number | null, text: (value: number) => string): string | null {
  if (part === null) return null;
  return whole === null || whole === 0
    ? text(part)
    : `${text(part)} of ${text(whole)} (${percentText(part / whole)})`;
}

/** Returns the values in one line, with "–" for a missing one; null if all are missing. */
function joined(values: readonly (number | null)[], text: (value: number) => string): string | null {
  if (values.every((value) => value === null)) return null;
  return values.map((value) => (value === null ? "–" : text(value))).join(", ");
}
