// The machine's events: those that wait for the apiserver, and the last ones that were sent.
import type { ShownEvent, WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { TableHead } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { MarkedText } from "../parts/command.tsx";
import { Nothing, Section } from "./section.tsx";

export function EventsSection({ whole: { name, events, outbox } }: { whole: WholeNode }) {
  const waiting = outbox.waiting > 0 ? `${outbox.waiting} waiting since ` : "";
  return (
    <Section
      id="events"
      aside={
        waiting && (
          <span class="quiet">
            {waiting}
            <Time at={outbox.oldest} form="absolute" />
          </span>
        )
      }
    >
      {outbox.dropped > 0 && (
        <Nothing>{outbox.dropped} were dropped: the apiserver did not take them in time.</Nothing>
      )}
      {events === undefined || events.length === 0 ? (
        <p class="quiet">
          {events ? "No recent ones." : "This Worker does not list them."} What the cluster has:{" "}
          <MarkedText text={`\`kubectl events --for node/${name}\``} name={name} />
        </p>
      ) : (
        <EventTable events={events} />
      )}
    </Section>
  );
}

function EventTable({ events }: { events: readonly ShownEvent[] }) {
  return (
    <table class="machine-cards">
      <TableHead heads={["Last", "Reason", "Message", "State"]} />
      <tbody>
        {events.map(({ type, reason, message, count, firstAt, lastAt, state }) => (
          <tr key={`${reason} ${message} ${firstAt} ${state}`}>
            <td>
              <Time at={lastAt} />
            </td>
            <th scope="row">
              <span class={type === "Warning" ? "machine-warn" : undefined}>
                {type === "Warning" && <span aria-label="Warning">▲ </span>}
                {reason}
              </span>
            </th>
            <td>
              {message}
              {count > 1 && (
                <span class="quiet">
                  {" "}
                  {count} times since <Time at={firstAt} form="absolute" />
                </span>
              )}
            </td>
            <td class={state === "waiting" ? "machine-warn" : "quiet"}>{state}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
