// The functions of `text.js`, which is in the second module.

const second = () => import("../../objects.js");

export const annotationsOf = async (...asked) => (await second()).annotationsOf(...asked);
export const firstIn = async (...asked) => (await second()).firstIn(...asked);
export const searchIn = async (...asked) => (await second()).searchIn(...asked);
