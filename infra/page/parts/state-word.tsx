// Draws a machine's state as a sign and a word, so that colour is never the only sign.
import { type FleetState, stateText } from "../../../shared/fleet/state.ts";

/** The shape of each state, as a path in a square of 16. */
const SHAPES: Readonly<Record<FleetState, string>> = {
  // The shapes: tick in a disc, triangle with a bar, broken ring, cut arrow, square with a bar, question mark, cross.
  ready: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm3.7 4.9-4.4 5a.8.8 0 0 1-1.2 0L4.3 9l1.1-1.1 1.3 1.3 3.9-4.4Z",
  "not-ready": "M8 1 .8 14.5h14.4Zm-.8 5h1.6v4.2H7.2Zm0 5.4h1.6V13H7.2Z",
  silent:
    "M8 1a7 7 0 0 1 5 2l-1.4 1.4a5 5 0 0 0-7.2 0L3 3a7 7 0 0 1 5-2ZM1.600 4.800l1.500 1A5 5 0 0 0 3.100 10.200l-1.500 1A7 7 0 0 1 1.600 4.800Zm12.800 0a7 7 0 0 1 0 6.400l-1.500-1a5 5 0 0 0 0-4.400ZM3 13l1.400-1.400a5 5 0 0 0 7.200 0L13 13A7 7 0 0 1 3 13Z",
  "cluster-unreachable": "M1 7h4V4l4 4-4 4V9H1Zm9-5h2v12h-2Zm3 0h2v12h-2Z",
  blocked: "M2 2h12v12H2Zm2.500 5v2h7V7Z",
  pending:
    "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm-.9 10h1.800v1.800H7.100Zm.9-7.800c1.700 0 2.800 1 2.800 2.400 0 1-.5 1.600-1.200 2.100-.6.400-.8.700-.8 1.300v.8H7.200v-1c0-1.100.5-1.600 1.100-2 .5-.400.8-.600.8-1.200 0-.500-.400-.9-1.100-.9-.8 0-1.200.500-1.200 1.200H5.200c0-1.600 1.100-2.700 2.800-2.700Z",
  revoked:
    "M3.500 2 8 6.500 12.500 2 14 3.500 9.500 8l4.500 4.500-1.500 1.500L8 9.500 3.500 14 2 12.500 6.500 8 2 3.500Z",
};
const UNKNOWN_SHAPE = "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 2a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z";

export function StateSign({ state }: { state: string }) {
  const shape = (SHAPES as Record<string, string | undefined>)[state] ?? UNKNOWN_SHAPE;
  return (
    <svg class={`sign state-${state}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path d={shape} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}

export function StateWord({ state }: { state: string }) {
  return (
    <span class={`state state-${state}`} title={`In a search: state:${state}`}>
      <StateSign state={state} />
      {stateText(state)}
    </span>
  );
}
