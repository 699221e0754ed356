// Names the directives of strategic merge patches (`$patch` and others).

/** The directive that deletes or replaces the object around it: `"$patch": "delete"`, `"$patch": "replace"`. */
export const DIRECTIVE = "$patch";
/** The prefix of a directive with items to remove from a list of scalars: `$deleteFromPrimitiveList/finalizers`. */
export const DELETE_FROM_LIST = "$deleteFromPrimitiveList";
/** The prefix of a directive that lists the order of a merged list: `$setElementOrder/conditions`. */
export const SET_ELEMENT_ORDER = "$setElementOrder";
