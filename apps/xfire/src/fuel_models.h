/* The 13 standard fire behavior fuel models of Anderson (1982), INT-GTR-122. */
#ifndef XFIRE_FUEL_MODELS_H
#define XFIRE_FUEL_MODELS_H

#include "rothermel.h"

enum { N_FUEL_MODELS = 13 };

/* The model with this number (1 to 13), or NULL. */
const struct fuel_model *fuel_model(int number);

#endif
