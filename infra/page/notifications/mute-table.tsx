// Mutes that are not over: about what nobody is told, until when, and why.
import type { ListedMute } from "../../../shared/protocol/receiver-answers.ts";
import { usePage } from "../page.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { ScrollBox } from "../parts/scroll-box.tsx";
import { Time } from "../parts/time.tsx";
import { toldAbout } from "./told-about.ts";

export function MuteTable({ mutes, again }: { mutes: readonly ListedMute[]; again: () => void }) {
  const { session } = usePage();
  if (mutes.length === 0) return <p class="card">Nothing is muted.</p>;
  return (
    <ScrollBox label="Mutes" class="card flush">
      <table>
        <thead>
          <tr>
            <th scope="col">Nobody is told of</th>
            <th scope="col">From</th>
            <th scope="col">Until</th>
            <th scope="col">Why</th>
            <th scope="col">Made by</th>
            {session.isAdmin() && (
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {mutes.map((mute) => (
            <tr key={mute.id}>
              <td class="wrap">{toldAbout(mute)}</td>
              <td>
                <Time at={mute.from} />
              </td>
              <td>
                <Time at={mute.until} />
              </td>
              <td class="wrap">{mute.comment || "–"}</td>
              <td>{mute.who}</td>
              {session.isAdmin() && (
                <td>
                  <ConfirmButton
                    label="End"
                    title="End this mute?"
                    request={{ method: "DELETE", path: `/v1/mutes/${mute.id}` }}
                    done="The mute is over"
                    onDone={again}
                  >
                    <p>What lasts still is told to receivers from now on.</p>
                  </ConfirmButton>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}
