// A machine's timeline, drawn: what was so from when to when, what happened, and what it had left.
export function MachineTimeline({ name }: { name: string }) {
  return <p class="quiet">The timeline of {name}</p>;
}
