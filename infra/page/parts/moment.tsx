// A moment where there is room for it: when exactly, and how long ago.
import { Time } from "./time.tsx";

/** RFC 3339, or milliseconds since 1970. */
export function Moment({ at }: { at: number | string }) {
  return (
    <>
      <Time at={at} form="absolute" />{" "}
      <span class="quiet">
        (<Time at={at} />)
      </span>
    </>
  );
}
