// Who is signed in to the page, for admins: any session can be ended.
import type { SessionsAnswer } from "../../../shared/protocol/session-answers.ts";
import { Answered } from "../parts/answered.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { ScrollBox } from "../parts/scroll-box.tsx";
import { Time } from "../parts/time.tsx";
import { useAnswer } from "../parts/use-answer.ts";

export function Sessions() {
  const sessions = useAnswer<SessionsAnswer>("/v1/sessions");
  return (
    <section class="stack" aria-labelledby="sessions">
      <h2 id="sessions">Signed in</h2>
      <Answered answer={sessions} what="The sessions could not be listed">
        {(value) => (
          <ScrollBox label="Sessions" class="card flush">
            <table>
              <thead>
                <tr>
                  <th scope="col">Who</th>
                  <th scope="col">May</th>
                  <th scope="col">Since</th>
                  <th scope="col">Until</th>
                  <th scope="col">From</th>
                  <th scope="col">Browser</th>
                  <th scope="col">
                    <span class="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {value.sessions.map((session) => (
                  <SessionRow key={session.id} session={session} again={sessions.again} />
                ))}
              </tbody>
            </table>
          </ScrollBox>
        )}
      </Answered>
    </section>
  );
}

function SessionRow({ session, again }: { session: SessionsAnswer["sessions"][number]; again: () => void }) {
  const { id, who, role, createdAt, expiresAt, address, browser, isThis } = session;
  return (
    <tr>
      <td>
        {who} {isThis && <span class="tag">this one</span>}
      </td>
      <td>{role}</td>
      <td>
        <Time at={createdAt} />
      </td>
      <td>
        <Time at={expiresAt} />
      </td>
      <td>{address || "–"}</td>
      <td class="wrap">{browser || "–"}</td>
      <td>
        <ConfirmButton
          label="End"
          title="End this session?"
          request={{ method: "DELETE", path: `/v1/sessions/${encodeURIComponent(id)}` }}
          done="The session is over"
          onDone={again}
          isDangerous
        >
          <p>Whoever uses it is signed out within ten seconds, and can sign in again with the secret.</p>
        </ConfirmButton>
      </td>
    </tr>
  );
}
