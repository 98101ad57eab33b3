/*
 * The 13 fuel models. Loads are the lb/ft2 of BEHAVE (Andrews 1986), that is Anderson's
 * tons/acre rounded as every later program has them; 10-h and 100-h ratios are 109 and 30.
 */
#include "fuel_models.h"

#include <stddef.h>

#define SAVR(fine_dead, live) {fine_dead, 109.0, 30.0, live, live}

static const struct fuel_model MODELS[N_FUEL_MODELS] = {
    {1, "short grass", 1.0, 0.12, {0.034, 0.000, 0.000, 0.000, 0.000}, SAVR(3500.0, 1500.0)},
    {2, "timber grass", 1.0, 0.15, {0.092, 0.046, 0.023, 0.023, 0.000}, SAVR(3000.0, 1500.0)},
    {3, "tall grass", 2.5, 0.25, {0.138, 0.000, 0.000, 0.000, 0.000}, SAVR(1500.0, 1500.0)},
    {4, "chaparral", 6.0, 0.20, {0.230, 0.184, 0.092, 0.000, 0.230}, SAVR(2000.0, 1500.0)},
    {5, "brush", 2.0, 0.20, {0.046, 0.023, 0.000, 0.000, 0.092}, SAVR(2000.0, 1500.0)},
    {6, "dormant brush", 2.5, 0.25, {0.069, 0.115, 0.092, 0.000, 0.000}, SAVR(1750.0, 1500.0)},
    {7, "southern rough", 2.5, 0.40, {0.052, 0.086, 0.069, 0.000, 0.017}, SAVR(1750.0, 1500.0)},
    {8, "needle litter", 0.2, 0.30, {0.069, 0.046, 0.115, 0.000, 0.000}, SAVR(2000.0, 1500.0)},
    {9, "hardwood litter", 0.2, 0.25, {0.134, 0.019, 0.007, 0.000, 0.000}, SAVR(2500.0, 1500.0)},
    {10, "timber litter", 1.0, 0.25, {0.138, 0.092, 0.230, 0.000, 0.092}, SAVR(2000.0, 1500.0)},
    {11, "light slash", 1.0, 0.15, {0.069, 0.207, 0.253, 0.000, 0.000}, SAVR(1500.0, 1500.0)},
    {12, "medium slash", 2.3, 0.20, {0.184, 0.644, 0.759, 0.000, 0.000}, SAVR(1500.0, 1500.0)},
    {13, "heavy slash", 3.0, 0.25, {0.322, 1.058, 1.288, 0.000, 0.000}, SAVR(1500.0, 1500.0)},
};

const struct fuel_model *fuel_model(int number)
{
    return number < 1 || N_FUEL_MODELS < number ? NULL : &MODELS[number - 1];
}
