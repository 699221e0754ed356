// The directives of strategic merge patches (`$patch` and its kin), for those who make patches.

/** `"$patch": "delete"` or `"replace"` in an object says what becomes of the object it stands in. */
export const DIRECTIVE = "$patch";
/** `$deleteFromPrimitiveList/finalizers` lists what a list of scalars loses. */
export const DELETE_FROM_LIST = "$deleteFromPrimitiveList";
/** `$setElementOrder/conditions` lists the order that a merged list shall have. */
export const SET_ELEMENT_ORDER = "$setElementOrder";
