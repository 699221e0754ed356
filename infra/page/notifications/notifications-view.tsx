// Who is told of what goes wrong: receivers, the letters that wait or never arrived, and mutes.
import { useState } from "preact/hooks";
import type { MutesAnswer, ReceiversAnswer } from "../../../shared/protocol/receiver-answers.ts";
import { usePage } from "../page.ts";
import { Answered } from "../parts/answered.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { MuteTable } from "./mute-table.tsx";
import { NewMute } from "./new-mute.tsx";
import { NewReceiver } from "./new-receiver.tsx";
import { ReceiverCard } from "./receiver-card.tsx";

export function NotificationsView() {
  return (
    <div class="stack">
      <h1>Notifications</h1>
      <Receivers />
      <Mutes />
    </div>
  );
}

function Receivers() {
  const { session } = usePage();
  const receivers = useAnswer<ReceiversAnswer>("/v1/receivers");
  const [isMaking, setMaking] = useState(false);
  return (
    <section class="stack" aria-labelledby="receivers">
      <header class="row spread">
        <h2 id="receivers">Receivers</h2>
        {session.isAdmin() && (
          <button type="button" onClick={() => setMaking(true)}>
            New receiver
          </button>
        )}
      </header>
      <Answered answer={receivers} what="The receivers could not be listed">
        {(value) =>
          value.receivers.length === 0 ? (
            <p class="card">
              Nobody is told. A receiver is a webhook: of a chat, an Alertmanager, or a program of yours.
            </p>
          ) : (
            value.receivers.map((receiver) => (
              <ReceiverCard key={receiver.name} receiver={receiver} again={receivers.again} />
            ))
          )
        }
      </Answered>
      {isMaking && <NewReceiver onClose={() => setMaking(false)} onMade={receivers.again} />}
    </section>
  );
}

function Mutes() {
  const { session } = usePage();
  const mutes = useAnswer<MutesAnswer>("/v1/mutes");
  const [isMaking, setMaking] = useState(false);
  return (
    <section class="stack" aria-labelledby="mutes">
      <header class="row spread">
        <h2 id="mutes">Mutes</h2>
        {session.isAdmin() && (
          <button type="button" onClick={() => setMaking(true)}>
            New mute
          </button>
        )}
      </header>
      <Answered answer={mutes} what="The mutes could not be listed">
        {(value) => <MuteTable mutes={value.mutes} again={mutes.again} />}
      </Answered>
      {isMaking && <NewMute onClose={() => setMaking(false)} onMade={mutes.again} />}
    </section>
  );
}
