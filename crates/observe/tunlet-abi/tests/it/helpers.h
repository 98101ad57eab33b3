
#ifdef __cplusplus
extern "C" {
#endif

/* What a library has to define: the description of its tunlet. */
__attribute__((visibility("default"))) const sintonia_tunlet *sintonia_tunlet_v1(void);

/* An integer as a value. */
static inline sintonia_value sintonia_int(int64_t number) {
  sintonia_value value;
  value.kind = SINTONIA_INT;
  value.number.int_value = number;
  return value;
}

/* A floating-point number as a value. */
static inline sintonia_value sintonia_float(double number) {
  sintonia_value value;
  value.kind = SINTONIA_FLOAT;
  value.number.float_value = number;
  return value;
}

/* A value as a floating-point number, rounded where it has to be. */
static inline double sintonia_as_double(sintonia_value value) {
  switch (value.kind) {
    case SINTONIA_INT: return (double)value.number.int_value;
    case SINTONIA_UINT: return (double)value.number.uint_value;
    default: return value.number.float_value;
  }
}

#ifdef __cplusplus
}
#endif

#endif
