/* Broadcasts the files that the master has read, so that workers need none. */
#ifndef XFIRE_SHARE_H
#define XFIRE_SHARE_H

#include "landscape.h"

/* Collective. The workers' `config` and `land` are filled; returns an exit code on every rank. */
int share_setup(int rank, int code_of_master, struct config *config, struct landscape *land);

#endif
