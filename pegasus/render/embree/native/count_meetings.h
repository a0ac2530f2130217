// Counts the objects of a prototype that each ray of a group may hit.

#include "each_meeting.h"
for (int i = first; i < end; ++i) counts.data[i] = 0;
each_meeting([&](int i, int) { ++counts.data[i]; });
