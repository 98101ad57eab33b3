// Members behind `this` and references.
namespace md {
struct Base {
    int every = 20;
};
class Neighbor : Base {
public:
    double skin = 0.3;
    __attribute__((noinline)) int build(Neighbor &other);
};
int Neighbor::build(Neighbor &other) { return int(skin + other.skin) + every; }
}  // namespace md

int main() {
    md::Neighbor a, b;
    return a.build(b);
}
