/* Perimeters as GeoJSON; see geojson.h. */
#include "geojson.h"

#include "errors.h"

int geojson_open(struct geojson *out, const char *path, int epsg)
{
    *out = (struct geojson){.file = fopen(path, "w")};
    snprintf(out->path, sizeof out->path, "%s", path);
    if (out->file == NULL)
        return xfire_error(XFIRE_OUTPUT, "cannot create `%s`", path);
    fputs("{\"type\":\"FeatureCollection\",", out->file);
    if (epsg > 0)
        fprintf(out->file,
                "\"crs\":{\"type\":\"name\",\"properties\":{\"name\":"
                "\"urn:ogc:def:crs:EPSG::%d\"}},", epsg);
    fputs("\"features\":[", out->file);
    return XFIRE_OK;
}

void geojson_add(struct geojson *out, const struct fire_line *line, double minute)
{
    double area_ha = line->is_closed ? fire_line_area_m2(line) / 1e4 : 0.0;
    fprintf(out->file,
            "%s\n{\"type\":\"Feature\",\"properties\":{\"minute\":%g,\"points\":%d,"
            "\"length_m\":%.1f,\"area_ha\":%.3f},\"geometry\":{\"type\":\"%s\",\"coordinates\":%s",
            out->n_features++ > 0 ? "," : "", minute, line->n, fire_line_length_m(line), area_ha,
            line->is_closed ? "Polygon" : "LineString", line->is_closed ? "[[" : "[");
    for (int i = 0; i < line->n; i++)
        fprintf(out->file, "%s[%.3f,%.3f]", i > 0 ? "," : "", line->points[i].x,
                line->points[i].y);
    if (line->is_closed)
        fprintf(out->file, ",[%.3f,%.3f]]", line->points[0].x, line->points[0].y);
    fputs("]}}", out->file);
}

int geojson_close(struct geojson *out)
{
    fputs("\n]}\n", out->file);
    bool is_written = !ferror(out->file);
    if (fclose(out->file) != 0 || !is_written)
        return xfire_error(XFIRE_OUTPUT, "cannot write `%s`; is the disk full?", out->path);
    return XFIRE_OK;
}
