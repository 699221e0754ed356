// How far a machine's object can rely on the watch of Nodes.

export interface WatchStanding {
  /** Every change of its Node by others is known to it. */
  isWatched: boolean;
  /** A silent machine's Node turns Unknown, and its object is told. */
  isSilenceSeen: boolean;
}

export const NOT_WATCHED: WatchStanding = { isWatched: false, isSilenceSeen: false };
